# SPDX-License-Identifier: Apache-2.0
"""The foundation of all other rooms: options, errors, the log, files, constants of the API."""
