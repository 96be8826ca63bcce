"""``check --soak``: keep a stream and a ping-pong up for minutes to days, and name each dip.

Comes in: a begun run (nodes, network, run directory). Goes out: ``Soaked``, stored as soak.json
with a page, and each dip in dips.jsonl the moment it is over.

    program     the measuring program, built once for each MPI (engine/soak)
    watching    its lines → dips, stalls and stuck ranks; pure, and its memory does not grow
    answers     what management asks of the nodes, before the load and under it
    soaking     starts the program, watches it, stores the result
    content     what a report shows
"""
