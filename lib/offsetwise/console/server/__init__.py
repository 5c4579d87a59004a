"""What stands around Streamlit: who may come in, what a browser may ask for, and how it starts."""
