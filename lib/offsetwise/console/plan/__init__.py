"""The screens of a plan: draft, review, export."""
