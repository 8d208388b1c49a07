"""Which parts of dynamic resource allocation are on."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class DeviceFeatures(msgspec.Struct, frozen=True):
    """The feature gates that allocation looks at. Upstream: 1.36 structured.Features."""

    prioritized_list: bool = True
    """``firstAvailable``. Gate DRAPrioritizedList."""
    partitionable: bool = True
    """Shared counters, and devices placed one by one. Gate DRAPartitionableDevices."""
    taints: bool = True
    """Gate DRADeviceTaints."""
    binding: bool = True
    """Binding conditions. Gates DRADeviceBindingConditions and DRAResourceClaimDeviceStatus."""
    consumable: bool = True
    """Devices that allow several allocations, and requests for capacity. Gate DRAConsumableCapacity."""
    extended: bool = True
    """Extended resources backed by a DeviceClass. Gate DRAExtendedResource."""

    @classmethod
    def of(cls, gates: Mapping[str, bool]) -> DeviceFeatures:
        """What 1.36's gates switch on; a gate that is not named is on."""

        def on(*names: str) -> bool:
            return all(gates.get(name, True) for name in names)

        return cls(
            prioritized_list=on("DRAPrioritizedList"),
            partitionable=on("DRAPartitionableDevices"),
            taints=on("DRADeviceTaints"),
            binding=on("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
            consumable=on("DRAConsumableCapacity"),
            extended=on("DRAExtendedResource"),
        )


EVERYTHING = DeviceFeatures()
