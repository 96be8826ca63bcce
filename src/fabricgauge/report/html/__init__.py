"""The HTML report: a page from a template, with curves drawn by Bokeh."""
