"""How things are called and printed: figures, sentences, networks, the catalogue of patterns."""
