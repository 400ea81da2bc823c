# Sourced: node and npm are Debian 12's, if tests/lib/javascript.sh unpacked them because
# the machine has others. A folder that does not exist does no harm in PATH.
PATH=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")/build/javascript/bin:$PATH
