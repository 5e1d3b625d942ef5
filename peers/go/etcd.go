// The lock of etcd's package concurrency, driven through the standard input; see README.md.
package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

// A session is a lease, on a client of its own or a shared one.
type leased struct {
	client *clientv3.Client
	lease  *concurrency.Session
	ttl    int
	shared bool // somebody else closes the client
}

func main() {
	run("etcd", connect)
}

func connect(hosts string, timeout time.Duration) (session, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(hosts, ","),
		DialTimeout: 15 * time.Second,
	})
	if err != nil {
		return nil, errors.New("cannot connect to " + hosts + ": " + err.Error())
	}
	// Its time to live is told in whole seconds.
	return lease(client, int((timeout+time.Second-1)/time.Second), false)
}

func lease(client *clientv3.Client, ttl int, shared bool) (session, error) {
	own, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		return nil, err
	}
	return leased{client, own, ttl, shared}, nil
}

type locker struct{ *concurrency.Mutex }

func (l locker) Lock() error   { return l.Mutex.Lock(context.Background()) }
func (l locker) Unlock() error { return l.Mutex.Unlock(context.Background()) }

func (l leased) newLock(path string) mutex {
	return locker{concurrency.NewMutex(l.lease, path)}
}

func (l leased) get(path string) (string, error) {
	found, err := l.client.Get(context.Background(), path)
	if err != nil {
		return "", err
	}
	if len(found.Kvs) == 0 {
		return "", errors.New("there is no " + path)
	}
	return string(found.Kvs[0].Value), nil
}

func (l leased) set(path, value string) error {
	_, err := l.client.Put(context.Background(), path, value)
	return err
}

func (l leased) exists() error {
	_, err := l.client.Get(context.Background(), "/", clientv3.WithCountOnly(), clientv3.WithSerializable())
	return err
}

// A mutex knows its owner by the lease, and would let in two goroutines that share one.
func (l leased) forGoroutine() (session, error) {
	return lease(l.client, l.ttl, true)
}

func (l leased) granted() {}

func (l leased) lost() string {
	select {
	case <-l.lease.Done():
		return "Session.Done"
	default:
		return ""
	}
}

func (l leased) useless(error) bool {
	return false
}

func (l leased) Close() {
	_ = l.lease.Close()
	if !l.shared {
		_ = l.client.Close()
	}
}
