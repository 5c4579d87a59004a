"""The Tab key: what it reaches."""

from __future__ import annotations

from playwright.sync_api import Page

TABS = 150

FOCUSED = """() => {
    const at = document.activeElement;
    const label = at.getAttribute('aria-label') || (at.labels && at.labels[0] && at.labels[0].innerText);
    return (label || at.innerText || at.tagName).trim().split('\\n').at(-1);
}"""

NOT_REACHED = """() => [...document.querySelectorAll('[data-testid=stMain] :is(input, button, summary, a[href])')]
    .filter(one => one.checkVisibility({checkVisibilityCSS: true}) && !one.disabled
        && one.tabIndex >= 0 && (one.type !== 'radio' || one.checked) && !one.dataset.reached
        && !one.closest('[data-testid=stElementToolbar], .js-plotly-plot'))
    .map(one => one.getAttribute('aria-label') || one.innerText || one.outerHTML.slice(0, 200))"""
"""Controls of the page itself: not of Streamlit's toolbars, of Plotly, or behind the arrow keys of a choice."""


def tabbed(page: Page, *, until: str | None) -> list[str]:
    """Press Tab from the top of the page; give the names of what got the focus, up to the wanted one."""
    page.evaluate("document.activeElement.blur()")
    names: list[str] = []
    for _ in range(TABS):
        page.keyboard.press("Tab")
        name = str(page.evaluate(FOCUSED))
        if name == "BODY" and until is None and names:
            break
        names.append(name)
        if until is not None and name.startswith(until):
            return names
    assert until is None, f"Tab did not reach {until!r}: {names}"
    return names


def not_reached(page: Page) -> list[str]:
    """Press Tab until the page ends; give the controls that never got the focus.

    A page that is drawn again meanwhile loses the focus and forgets what had it, so what is missing is looked for
    again.
    """
    page.evaluate("document.addEventListener('focusin', event => { event.target.dataset.reached = 'yes' })")
    assert page.evaluate(NOT_REACHED), "a page has something to press"
    for _ in range(3):
        tabbed(page, until=None)
        left = list(page.evaluate(NOT_REACHED))
        if not left:
            break
    return left


UNSEEN = """async () => {
    const still = document.createElement('style')
    still.textContent = '* { transition: none !important; animation: none !important }'
    document.head.append(still)
    const next = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
    const drawn = one => {
        const around = [one, one.nextElementSibling, one.previousElementSibling]
        for (let up = one.parentElement; up && around.length < 8; up = up.parentElement) around.push(up)
        return around.filter(Boolean).map(each => {
            const style = getComputedStyle(each)
            return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor, style.color].join()
        }).join('|')
    }
    const unseen = []
    const all = document.querySelectorAll('[data-testid=stMain] :is(input, button, summary, textarea, a[href])')
    for (const one of all) {
        if (!one.checkVisibility({checkVisibilityCSS: true}) || one.disabled || one.tabIndex < 0
            || one.closest('[data-testid=stElementToolbar], .js-plotly-plot')) continue
        document.activeElement.blur()
        await next()
        const before = drawn(one)
        one.focus({focusVisible: true, preventScroll: true})
        await next()
        if (document.activeElement === one && drawn(one) === before)
            unseen.push(one.getAttribute('aria-label') || one.innerText || one.outerHTML.slice(0, 200))
    }
    document.activeElement.blur()
    still.remove()
    return unseen
}"""


def unseen_focus(page: Page) -> list[str]:
    """Return the controls that look the same with the focus as without it."""
    return list(page.evaluate(UNSEEN))
