"""One module per format; each writes any document, and knows nothing of what it is about."""
