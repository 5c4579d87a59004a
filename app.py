"""The console's router: its pages, and nothing else."""

import streamlit as st

st.set_page_config(page_title="Offsetwise", page_icon=":material/fork_right:", layout="wide", initial_sidebar_state=250)
st.navigation(
    {
        "Explore": [
            st.Page("pages/explore/overview.py", title="Overview", icon=":material/dashboard:", default=True),
            st.Page("pages/explore/compare.py", title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        ]
    }
).run()
