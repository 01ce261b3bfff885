# SPDX-License-Identifier: GPL-2.0-or-later
# The devices of a guest's machine: those of QEMU's `pc` that cannot be left out, and disks.
CONFIG_I440FX=y
CONFIG_VMPORT=y
CONFIG_VMMOUSE=y
CONFIG_HPET=y
CONFIG_FDC_ISA=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_RNG=y
