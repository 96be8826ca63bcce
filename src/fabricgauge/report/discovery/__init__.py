"""A survey → terminal, HTML, JSON: classes of like nodes, odd ones, networks; pure."""
