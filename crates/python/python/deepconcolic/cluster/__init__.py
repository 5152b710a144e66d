"""Runs that one machine is too small for: shards of the requirements on Ray, an engine that exists; no scheduler of ours.

A shard is a task without a state of its own: it takes the model and the data (sent once), a range of requirements, and
gives back the folder of its run, small enough to go by value. The driver keeps a journal of finished shards, so that a
killed driver goes on where it was; lost workers are Ray's to replace. In the end the driver merges, and merging runs
every test and judges every certificate again: nothing that came back counts before that.

Large data are measured in shards too: each measures its part of the samples, and the figures are joined.

Without Ray the same shards are processes of ``deepconcolic run --partition i/n`` and ``deepconcolic merge``.
"""

from __future__ import annotations

from .driver import ShardEnded, run
from .measuring import measured
from .shards import Journal, work

__all__ = ["Journal", "ShardEnded", "measured", "run", "work"]
