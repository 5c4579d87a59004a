"""The surface of `import offsetwise`: migrations, plans and receipts, on which the command line is built.

The console never imports this: it reads and drafts through `workflow`, and reaches nothing that writes.
"""
