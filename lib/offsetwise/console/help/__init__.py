"""The Help screen: the documents, the glossary and the codes, beside the pages that use them."""
