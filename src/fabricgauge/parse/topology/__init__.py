"""Files that say which nodes hang on which switch: Slurm's, ibnetdiscover's, and plain lists."""

from fabricgauge.parse.topology.interface import topology_of as topology_of
