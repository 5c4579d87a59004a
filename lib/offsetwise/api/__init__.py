"""What `import offsetwise` gives: migrations, plans and receipts, on which the command line is written.

The console never imports this: it reads and drafts through `workflow`, and reaches nothing that writes.
"""
