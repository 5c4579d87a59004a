"""A search box over links that Ctrl + K and `/` open: Streamlit has no shortcut for that.

Matches are computed on the server, so that a click on a page never transfers the names of all partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypedDict

import streamlit as st

KEY: Final = "search"
_HTML: Final = """
<button type="button" aria-haspopup="dialog"><span>Search</span> <kbd>Ctrl K</kbd></button>
<dialog aria-label="Search">
  <div>
    <input type="text" role="combobox" aria-label="Search pages, jobs, partitions, findings, plans and help"
      aria-expanded="true" aria-controls="results" aria-autocomplete="list" autocomplete="off" spellcheck="false"
      placeholder="Page, job, topic, partition, finding, plan or help">
    <button type="button">Close</button>
  </div>
  <ul role="listbox" id="results" aria-label="Results"></ul>
  <p role="status"></p>
</dialog>
"""
_CSS: Final = """
* { box-sizing: border-box; font-family: var(--st-font) }
button { display: inline-flex; gap: 0.75rem; align-items: center; padding: 0.25rem 0.75rem; min-height: 2rem;
  color: var(--st-text-color); background: var(--st-secondary-background-color);
  border: 1px solid var(--st-border-color); border-radius: 0.5rem; font-size: 0.875rem; cursor: pointer }
button:focus-visible, input:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px }
kbd { font-size: 0.75rem; border: 1px solid var(--st-border-color); border-radius: 0.25rem; padding: 0 0.3rem }
@media (max-width: 640px) { kbd { display: none } }
dialog { width: min(40rem, calc(100vw - 2rem)); margin: 10vh auto auto; padding: 1rem; color: var(--st-text-color);
  background: var(--st-background-color); border: 1px solid var(--st-border-color); border-radius: 0.75rem }
dialog::backdrop { background: rgb(0 0 0 / 45%) }
dialog > div { display: flex; gap: 0.5rem }
dialog button { min-height: 2.75rem }
input { flex: 1; min-width: 0; padding: 0.6rem 0.75rem; font-size: 1rem; color: var(--st-text-color);
  background: var(--st-secondary-background-color); border: 1px solid var(--st-border-color); border-radius: 0.5rem }
input:placeholder-shown { text-overflow: ellipsis }
ul { list-style: none; margin: 0.75rem 0 0; padding: 0; max-height: 55vh; overflow-y: auto }
li { display: flex; gap: 0.75rem; padding: 0.4rem 0.75rem; border-radius: 0.5rem; cursor: pointer;
  border: 1px solid transparent; align-items: baseline }
li[aria-selected="true"] { background: var(--st-secondary-background-color); border-color: var(--st-primary-color) }
li > span { flex: 0 0 5.5rem; font-size: 0.8rem; color: var(--st-text-color) }
li > div { overflow-wrap: anywhere }
li small { margin-left: 0.5rem; color: var(--st-text-color) }
p { margin: 0.5rem 0.75rem 0; font-size: 0.8rem }
"""
_JS: Final = """
const TYPED_MS = 120
const typing = event => event.composedPath().some(one =>
  one instanceof Element && one.matches('input, textarea, select, [contenteditable="true"]'))

function go(href) {
  const target = new URL(href, location.href)
  // What the lists of this page have in the address, they keep on the way to another page: a link that names a job,
  // or another view of this page, is opened anew.
  if (target.searchParams.has('of') || target.pathname === location.pathname) { location.assign(target); return }
  history.pushState({}, '', target)
  window.dispatchEvent(new PopStateEvent('popstate', { state: {} }))
}

function draw(root, state) {
  const list = root.querySelector('ul'), input = root.querySelector('input')
  list.replaceChildren(...state.rows.map((row, at) => {
    const [item, kind, text] = ['li', 'span', 'div'].map(name => document.createElement(name))
    item.id = `result-${at}`
    item.setAttribute('role', 'option')
    item.setAttribute('aria-selected', String(at === state.at))
    kind.textContent = row.kind
    text.textContent = row.title
    if (row.detail) {
      const detail = document.createElement('small')
      detail.textContent = row.detail
      text.append(detail)
    }
    item.append(kind, text)
    item.onclick = () => { root.querySelector('dialog').close(); go(row.href) }
    return item
  }))
  input.setAttribute('aria-activedescendant', state.rows.length ? `result-${state.at}` : '')
  const waits = state.words !== input.value.trim()
  const none = state.rows.length ? '' : 'Nothing has these words.'
  root.querySelector('p').textContent = waits ? 'Searching \\u2026' : none
  list.children[state.at]?.scrollIntoView({ block: 'nearest' })
}

export default function ({ parentElement: root, data, setStateValue }) {
  const dialog = root.querySelector('dialog'), input = root.querySelector('input')
  const state = root.state ??= { at: 0 }
  if (state.words !== data.words) state.at = 0
  state.rows = data.rows
  state.words = data.words
  draw(root, state)
  if (state.entered === state.words) {
    state.entered = undefined
    if (dialog.open) root.querySelector('li')?.click()
  }

  const open = () => {
    if (dialog.open) return
    dialog.showModal()
    input.select()
  }
  const keys = event => {
    const command = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k'
    const slash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !typing(event)
    if (!command && !slash) return
    event.preventDefault()
    event.stopPropagation()
    open()
  }
  root.querySelector('button').onclick = open
  root.querySelector('dialog button').onclick = () => dialog.close()
  dialog.onclick = event => { if (event.target === dialog) dialog.close() }
  dialog.onkeydown = event => {
    event.stopPropagation()  // R and C are keys of Streamlit's own
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (move && state.rows.length) {
      event.preventDefault()
      state.at = (state.at + move + state.rows.length) % state.rows.length
      draw(root, state)
    } else if (event.key === 'Enter' && event.target === input) {
      event.preventDefault()
      if (state.words === input.value.trim()) root.querySelectorAll('li')[state.at]?.click()
      else {  // Whoever types faster than the server answers gets the first result once it is there.
        state.entered = input.value.trim()
        ask()
      }
    }
  }
  const ask = () => {
    clearTimeout(state.timer)
    setStateValue('words', input.value.trim())
  }
  input.oninput = () => {
    clearTimeout(state.timer)
    state.entered = undefined
    draw(root, state)
    state.timer = setTimeout(ask, TYPED_MS)
  }
  document.addEventListener('keydown', keys, true)
  return () => document.removeEventListener('keydown', keys, true)
}
"""


class SearchResult(TypedDict):
    kind: str
    title: str
    detail: str
    href: str


_component = st.components.v2.component("offsetwise_search", html=_HTML, css=_CSS, js=_JS)


def typed() -> str:
    state: Any = st.session_state.get(KEY)
    words = None if state is None else state.get("words")
    return words if isinstance(words, str) else ""


def draw(words: str, links: Sequence[SearchResult]) -> None:
    """Draw the button, and the dialog that it and the shortcuts open.

    Args:
        words: What the links match.
        links: The best match first; names as `plain` prints them.
    """
    _component(
        key=KEY,
        data={"words": words, "rows": list(links)},
        default={"words": ""},
        on_words_change=_nothing,
        width="content",
    )


def _nothing() -> None:
    """Do nothing: a change reruns the box."""
