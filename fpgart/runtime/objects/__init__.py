# SPDX-License-Identifier: Apache-2.0
"""The platform, contexts and command queues, which bring the lower floors together."""
