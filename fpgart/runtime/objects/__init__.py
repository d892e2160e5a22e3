# SPDX-License-Identifier: Apache-2.0
"""The platform, contexts and command queues, which connect the lower floors."""
