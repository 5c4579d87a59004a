"""The console's router: its pages, who looks at them, and nothing else."""

from pathlib import Path

import streamlit as st

from offsetwise.console import board, top
from offsetwise.console.server import guard, identity, wanted_page
from offsetwise.console.widgets import layout, logo, palette

# Written into the page: an icon by name, as the pages have, would be fetched from another host.
WAITING = top.waiting()
REVIEW = f"{guard.REVIEW} ({WAITING})" if WAITING else guard.REVIEW
ICON = Path(__file__).parent / "pages" / "icon.svg"
st.set_page_config(page_title="Offsetwise", page_icon=str(ICON), layout="wide", initial_sidebar_state=250)
PAGES = {
    "Explore": [
        st.Page("pages/explore/overview.py", title="Overview", icon=":material/dashboard:", default=True),
        st.Page("pages/explore/checkpoint.py", title="Checkpoint", icon=":material/save:", url_path="checkpoint"),
        st.Page("pages/explore/clusters.py", title="Clusters", icon=":material/hub:", url_path="clusters"),
        st.Page("pages/explore/compare.py", title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page("pages/explore/lag.py", title="Lag", icon=":material/show_chart:", url_path="lag"),
    ],
    "Plan": [
        st.Page("pages/plan/draft.py", title="Draft", icon=":material/edit_note:", url_path="draft"),
        st.Page("pages/plan/review.py", title=REVIEW, icon=":material/fact_check:", url_path="review"),
        st.Page("pages/plan/export.py", title="Export", icon=":material/download:", url_path="export"),
    ],
    "Operate": [
        st.Page("pages/operate/cutover.py", title="Cutover", icon=":material/timer:", url_path="cutover"),
        st.Page("pages/operate/fleet.py", title="Fleet", icon=":material/folder_copy:", url_path="fleet"),
        st.Page("pages/operate/audit.py", title="Audit", icon=":material/history:", url_path="audit"),
    ],
    "Help": [st.Page("pages/help/help.py", title="Help", icon=":material/help:", url_path="help")],
}
chosen = st.navigation(PAGES)
st.html(f"<style>{layout.CSS}</style>")
with guard.block("logo"):
    logo.draw(ICON.read_text(encoding="utf-8"), palette.current())
with guard.block("identity"):
    wanted_page.come_back(
        chosen, [page for group in PAGES.values() for page in group], signed_in=identity.current().signed_in
    )
    board.keep_in_address()
    top.draw([(page.title, page.url_path) for group in PAGES.values() for page in group])
top.watch(WAITING)
# Nothing of a page is loaded for who may not see it.
if not guard.is_closed(chosen.title):
    chosen.run()
