from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console.widgets.palette import Palette

_NAME_PX: Final = 96


def draw(mark: str, colours: Palette) -> None:
    """Draw mark and name above the navigation; if that is collapsed, the mark alone.

    Args:
        mark: A picture as SVG, 24 by 24. As text, it is part of the page: a file would be invisible to people who are
            not signed in.
        colours: The theme's colours, for the name.
    """
    drawn = mark[mark.index(">") + 1 :].strip().removesuffix("</svg>")
    name = (
        f'<text x="32" y="17.5" font-family="sans-serif" font-weight="600" font-size="16" fill="{colours.text}">'
        "Offsetwise</text>"
    )
    both = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {32 + _NAME_PX} 24">{drawn}{name}</svg>'
    st.logo(both, size="large", icon_image=mark)
