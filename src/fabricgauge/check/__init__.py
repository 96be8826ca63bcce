"""Wires the stages: discover → plan → run → parse → store → judge → report.

This package alone sees all stages; every stage is called from here and from nowhere else.
"""
