"""The console: Streamlit screens over the same verbs as the command line. It only ever reads."""
