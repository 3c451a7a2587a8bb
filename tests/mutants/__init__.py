"""The protocol broken on purpose, one rule at a time: a part of the suite has to notice each.

`make mutants` runs, for each entry of the catalogue, the tests that it names, with the rule broken
by `plugin`. A mutant that all of them pass has survived, and the suite has a hole.
"""
