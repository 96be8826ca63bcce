"""The features beside the gauge: one folder for each feature, loaded when it is used.

A feature has its verb, its work, its values and its page of the report; its tests are in
``tests/features/``. It registers by one row in ``model/features.py``. A feature imports the core
and no other feature; the core imports no feature.
"""
