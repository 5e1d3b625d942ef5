#!/usr/bin/env bash
# go-zookeeper's own tests of its client and its lock, with `colock serve`: go_zookeeper_tests.sh COLOCK GO LIBRARY
set -euo pipefail
[[ -f $3/lock_test.go && -f $3/zk_test.go ]] || { echo "skipped: no tests in $3" && exit 77; }

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
package=$place/src/zk
mkdir -p "$package"
cp "$3"/*.go "$package"
rm "$package"/{server_*,cluster_test,conn_test,dnshostprovider_test,structs_test}.go # the last one knows no server
cp "$(dirname "${BASH_SOURCE[0]}")/go_zookeeper_cluster.go" "$package/cluster_test.go"
# The first one restarts the server, which keeps nothing; the second one reads an access control list as before 3.5.
sed -i -E 's/^func Test(IfAuthdataSurvivesReconnect|Auth)\(/func leftOut\1(/' "$package/zk_test.go"
export COLOCK=$1 GO111MODULE=off GOPATH=$place GOCACHE=$place/cache GOFLAGS=-p=1
cd "$package"
"$2" test -v -timeout 300s . | grep -E '^(---|FAIL|ok|panic)|_test.go'
