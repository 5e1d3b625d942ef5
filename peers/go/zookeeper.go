// The lock of go-zookeeper, driven through the standard input; see README.md.
package main

import (
	"errors"
	"strings"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

type connection struct{ *zk.Conn }

func main() {
	run("go-zookeeper", connect)
}

func connect(hosts string, timeout time.Duration) (session, error) {
	conn, events, err := zk.Connect(strings.Split(hosts, ","), timeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	late := time.After(15 * time.Second)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				// The library drops further events by itself when nobody takes them.
				return connection{conn}, nil
			}
		case <-late:
			return nil, errors.New("cannot connect to " + hosts)
		}
	}
}

func (c connection) newLock(path string) mutex {
	return zk.NewLock(c.Conn, path, zk.WorldACL(zk.PermAll))
}

func (c connection) get(path string) (string, error) {
	data, _, err := c.Get(path)
	return string(data), err
}

func (c connection) set(path, value string) error {
	_, err := c.Set(path, []byte(value), -1)
	return err
}

func (c connection) exists() error {
	_, _, err := c.Exists("/")
	return err
}

func (c connection) forGoroutine() (session, error) {
	return c, nil
}

// When the node went with its session, the lock would take any further use for a deadlock.
func (c connection) useless(err error) bool {
	return err == zk.ErrNoNode
}
