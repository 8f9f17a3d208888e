"""TrackableResource: an object that makes a resource when it is first needed. Tables are such objects."""

from __future__ import annotations

from typing import Any


class TrackableResource:
    """An object with a resource of its own, for subclasses that say how it is made.

    A subclass has `_create_resource`, which returns the resource's handle, and may have `_initialize`, which it calls
    itself, and `_destroy_resource`, which is called when the object goes.

    Args:
        device: accepted; no effect.

    >>> import gradtape as tf
    >>> class Ones(TrackableResource):
    ...     def _create_resource(self):
    ...         return tf.Variable([1.0, 1.0])
    >>> Ones().resource_handle.numpy()
    array([1., 1.], dtype=float32)
    """

    _handle: Any = None

    def __init__(self, device: str = "") -> None:
        self._device = device

    @property
    def resource_handle(self) -> Any:
        """What `_create_resource` returned, the first time it was needed."""
        if self._handle is None:
            self._handle = self._create_resource()
        return self._handle

    def _create_resource(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must have a method _create_resource")

    def _initialize(self) -> None:
        """Give the resource its first contents."""

    def _destroy_resource(self) -> None:
        """Give up what the resource holds."""

    def __del__(self) -> None:
        if self._handle is not None:
            self._destroy_resource()
