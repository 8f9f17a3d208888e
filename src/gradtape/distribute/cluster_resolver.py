"""The public namespace `gradtape.distribute.cluster_resolver`: ways to find the processes of a cluster."""

from ..names.missing import closed
from .clusters import ClusterResolver, SimpleClusterResolver, SlurmClusterResolver, TFConfigClusterResolver

__all__ = ["ClusterResolver", "SimpleClusterResolver", "SlurmClusterResolver", "TFConfigClusterResolver"]

closed(__name__)
