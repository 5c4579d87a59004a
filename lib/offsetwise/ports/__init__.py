"""The interfaces of systems that plug-ins add."""
