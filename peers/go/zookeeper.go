// The lock of go-zookeeper, driven through the standard input; see README.md.
package main

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

type connection struct {
	*zk.Conn
	state *atomic.Value // the last event's that was not of a session that goes on
}

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
				own := connection{conn, &atomic.Value{}}
				own.state.Store("")
				go own.follow(events)
				return own, nil
			}
		case <-late:
			return nil, errors.New("cannot connect to " + hosts)
		}
	}
}

// The library's only sign of a loss are these events.
func (c connection) follow(events <-chan zk.Event) {
	for event := range events {
		if event.State == zk.StateDisconnected || event.State == zk.StateExpired {
			c.state.Store(event.State.String())
		}
	}
}

func (c connection) granted() {
	if c.State() == zk.StateHasSession {
		c.state.Store("") // while it waited
	}
}

func (c connection) lost() string {
	return c.state.Load().(string)
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
