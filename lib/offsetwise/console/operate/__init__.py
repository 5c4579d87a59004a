"""The screens of operation: fleet, audit."""
