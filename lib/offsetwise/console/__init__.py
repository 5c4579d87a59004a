"""The console: Streamlit screens over the same functions as the command line. It writes to no cluster or checkpoint."""
