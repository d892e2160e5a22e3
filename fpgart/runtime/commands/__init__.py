# SPDX-License-Identifier: Apache-2.0
"""The operations behind commands: transfers, mappings, migrations, programming, launches."""
