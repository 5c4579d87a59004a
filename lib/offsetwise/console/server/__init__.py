"""The console's server around Streamlit: who may enter, what a browser may request, and how it starts."""
