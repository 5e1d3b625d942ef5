#!/usr/bin/env bash
# The recipe of cron in docs/command.md on three machines: each has a name, a /etc/cron.d, a /run and a cron of its own, whose
# clock is about to strike the hour of the job. One of them has to run it, and none may send a mail. By a user who may use
# sudo, in the directory of the file `nightly`, with a server at localhost:2181.
set -euo pipefail

sudo apt-get install -y --no-install-recommends cron faketime
echo '127.0.0.1 zk1 zk2 zk3' | sudo tee -a /etc/hosts
sudo install -d /etc/colock
echo 'digest backup:secret' | sudo install -m 600 -o backup /dev/stdin /etc/colock/backup.auth
sudo install /dev/stdin /usr/local/bin/nightly <<<'#!/bin/sh
hostname >>/var/tmp/ran'
sudo install /dev/stdin /usr/sbin/sendmail <<<'#!/bin/sh
cat >>/var/tmp/mails'
sudo install -m 666 /dev/null /var/tmp/ran
sudo install -m 666 /dev/null /var/tmp/mails

# The job is due in the next minute in place of at three: the server's clock is the real one.
due=$(($(date +%s) / 60 * 60 + 60))
sed -i "s/daily@03:00/daily@$(date -d @$due +%H:%M)/; s/^0 3 /$(date -d @$due '+%-M %-H') /" nightly

machines=()
for second in 35 45 50; do
    # shellcheck disable=SC2016
    sudo unshare --uts --mount --propagation unchanged --pid --fork --kill-child --mount-proc sh -ec '
        hostname "machine-$1"
        mount -t tmpfs -o mode=755 tmpfs /run
        mount -t tmpfs -o mode=755 tmpfs /etc/cron.d
        mount -t tmpfs -o mode=1777 tmpfs /dev/shm # where faketime has names with process ids
        install -m 644 nightly /etc/cron.d/nightly
        exec faketime "$2" cron -f' sh "$second" "$(date -d @$((due - 60)) '+%Y-%m-%d %H:%M'):$second" &
    machines+=($!)
done
trap 'sudo kill "${machines[@]}"' EXIT

# When the last one has had time to be wrong.
sleep 60
sudo kill -0 "${machines[@]}"
printf 'ran on: %s\n' "$(paste -sd' ' /var/tmp/ran)"
cat /var/tmp/mails
[[ $(wc -l </var/tmp/ran) == 1 && ! -s /var/tmp/mails ]]
