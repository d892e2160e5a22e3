"""Damaged inputs for everything that reads what somebody else may have made (`make fuzz`).

mutation.py damages, readers.py lists who reads and what they may refuse, trial.py tries one reader in a process of its
own with limits of time and memory.
"""
