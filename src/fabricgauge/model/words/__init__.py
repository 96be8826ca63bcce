"""Print figures, sentences, networks and patterns in the field's words."""
