"""SaveOptions and LoadOptions: what saving and loading a model may be told."""

from __future__ import annotations

import enum
from typing import Any


class VariablePolicy(enum.Enum):
    """How variables on several devices are saved: `saved_model.experimental.VariablePolicy`. Accepted; no effect.

    >>> VariablePolicy("save_variable_devices")
    <VariablePolicy.SAVE_VARIABLE_DEVICES: 'save_variable_devices'>
    """

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"


class SaveOptions:
    """Options of `saved_model.save`.

    Args:
        experimental_custom_gradients: whether gradients of the functions are saved with them. Without them a loaded
            function cannot be differentiated, and saving takes less time.
        function_aliases: other names for functions, to be found in `function_aliases` of the loaded object.
        namespace_whitelist, save_debug_info, experimental_debug_stripper, experimental_io_device,
            experimental_variable_policy, experimental_image_format, experimental_skip_saver,
            experimental_sharding_callback, extra_tags: accepted; no effect.

    >>> SaveOptions(experimental_custom_gradients=False).experimental_custom_gradients
    False
    """

    def __init__(
        self,
        namespace_whitelist: Any = None,
        save_debug_info: bool = False,
        function_aliases: Any = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Any = None,
    ) -> None:
        self.namespace_whitelist = namespace_whitelist
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


class LoadOptions:
    """Options of `saved_model.load`.

    Args:
        experimental_load_function_aliases: whether the loaded object has `function_aliases`, as in `SaveOptions`.
        allow_partial_checkpoint, experimental_io_device, experimental_skip_checkpoint, experimental_variable_policy:
            accepted; no effect.

    >>> LoadOptions().allow_partial_checkpoint
    False
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_load_function_aliases = experimental_load_function_aliases
