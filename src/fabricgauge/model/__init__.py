"""Frozen values that the stages exchange; everything here is data, nothing acts.

Inside the program lengths of data are bytes, times are seconds, link rates are
bit/s and payload rates are bytes/s. A field's name carries its unit.
"""
