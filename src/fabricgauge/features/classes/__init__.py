"""``check --victim-class --bulk-class``: a latency beside bulk, each in its own traffic class.

Comes in: a begun run (nodes, network, run directory). Goes out: ``MeasuredClasses``, stored as
classes.json with a page.

    setting     a class, and how a transport or an MPI takes it; pure
    measuring   starts victim and bulk at once, round by round, and stores the result
    judging     figures → outcome and its reason; pure
    content     what a report shows
"""
