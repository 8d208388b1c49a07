"""What drivers do about claims once devices are allocated: they make them ready for binding."""

from __future__ import annotations

import attrs

from clusterstate.objects.resource import DeviceStatus, ResourceClaim


def made_ready(claim: ResourceClaim) -> ResourceClaim | None:
    """The claim with every binding condition of its devices met; None when none is left to report on."""
    allocation = claim.allocation
    reported = {(status.driver, status.pool, status.device) for status in claim.device_statuses}
    statuses = tuple(
        DeviceStatus(d.driver, d.pool, d.device, tuple((kind, "True") for kind in d.binding_conditions))
        for d in (allocation.devices if allocation is not None else ())
        if d.binding_conditions and (d.driver, d.pool, d.device) not in reported
    )
    return attrs.evolve(claim, device_statuses=(*claim.device_statuses, *statuses)) if statuses else None
