// The lock of go-zookeeper, driven through the standard input; see README.md.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

type peer struct {
	conn  *zk.Conn
	locks map[string]*zk.Lock // those of the commands lock and unlock
}

type command struct {
	parameters string
	run        func(p *peer, a []string) (string, error)
}

var commands = map[string]command{
	"lock":    {"PATH", (*peer).lock},
	"try":     {"PATH MS", (*peer).try},
	"unlock":  {"PATH", (*peer).unlock},
	"turns":   {"PATH COUNT COUNTER", (*peer).turns},
	"contend": {"PATH MS HOLD_US", (*peer).contend},
	"cycles":  {"PATH COUNT", (*peer).cycles},
	"reads":   {"COUNT", (*peer).reads},
	"many":    {"PREFIX LOCKS INFLIGHT MS", (*peer).many},
	"local":   {"PATH THREADS MS", (*peer).local},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go-zookeeper HOSTS SESSION_TIMEOUT_MS")
		os.Exit(2)
	}
	conn, err := connect(os.Args[1], os.Args[2])
	if err != nil {
		say(describe(err))
		os.Exit(1)
	}
	p := &peer{conn: conn, locks: map[string]*zk.Lock{}}
	p.serve(os.Stdin)
	conn.Close()
}

func connect(hosts, timeout string) (*zk.Conn, error) {
	ms, err := positive(timeout)
	if err != nil {
		return nil, err
	}
	conn, events, err := zk.Connect(strings.Split(hosts, ","), time.Duration(ms)*time.Millisecond,
		zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	late := time.After(15 * time.Second)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				// The library drops further events by itself when nobody takes them.
				return conn, nil
			}
		case <-late:
			return nil, errors.New("cannot connect to " + hosts)
		}
	}
}

// serve carries out commands until "quit" or the end of the input.
func (p *peer) serve(in io.Reader) {
	say("ready")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 1 && words[0] == "quit" {
			return
		}
		answer, err := p.answer(words)
		if err != nil {
			answer = describe(err)
		}
		say(answer)
	}
}

func (p *peer) answer(words []string) (string, error) {
	if len(words) == 0 {
		return "", errors.New("no command")
	}
	c, known := commands[words[0]]
	if !known {
		return "", errors.New("unknown command: " + words[0])
	}
	arguments := words[1:]
	if len(arguments) != len(strings.Fields(c.parameters)) {
		return "", errors.New("usage: " + words[0] + " " + c.parameters)
	}
	return c.run(p, arguments)
}

func say(line string) {
	fmt.Println(line) // not buffered
}

func describe(err error) string {
	return "error " + strings.Join(strings.Fields(err.Error()), " ")
}

func number(text string) (int64, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < 0 {
		return 0, errors.New("not a number: " + text)
	}
	return value, nil
}

func positive(text string) (int64, error) {
	value, err := number(text)
	if err == nil && value == 0 {
		err = errors.New("out of range: " + text)
	}
	return value, err
}

// numbers of several arguments; the first that is none is the error.
func numbers(of func(string) (int64, error), texts ...string) ([]int64, error) {
	values := make([]int64, len(texts))
	for i, text := range texts {
		value, err := of(text)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

func (p *peer) newLock(path string) *zk.Lock {
	return zk.NewLock(p.conn, path, zk.WorldACL(zk.PermAll))
}

func (p *peer) lock(a []string) (string, error) {
	lock, known := p.locks[a[0]]
	if !known {
		lock = p.newLock(a[0])
	}
	if err := lock.Lock(); err != nil {
		return "", err
	}
	p.locks[a[0]] = lock
	return "locked", nil // the library does not tell the node
}

func (p *peer) try([]string) (string, error) {
	return "", errors.New("not supported")
}

func (p *peer) unlock(a []string) (string, error) {
	lock, known := p.locks[a[0]]
	if !known {
		return "", zk.ErrNotLocked
	}
	err := lock.Unlock()
	if err == zk.ErrNoNode {
		// It went with its session. The lock would take any further use for a deadlock.
		delete(p.locks, a[0])
	}
	return "unlocked", err
}

func (p *peer) turns(a []string) (string, error) {
	count, err := number(a[1])
	if err != nil {
		return "", err
	}
	lock := p.newLock(a[0])
	for i := int64(0); i < count; i++ {
		if err := lock.Lock(); err != nil {
			return "", err
		}
		failed := p.increment(a[2])
		if err := lock.Unlock(); err != nil {
			return "", err
		}
		if failed != nil {
			return "", failed
		}
	}
	return fmt.Sprint("done ", count), nil
}

func (p *peer) increment(counter string) error {
	data, _, err := p.conn.Get(counter)
	if err != nil {
		return err
	}
	value, err := number(strings.TrimSpace(string(data)))
	if err != nil {
		return err
	}
	_, err = p.conn.Set(counter, []byte(strconv.FormatInt(value+1, 10)), -1)
	return err
}

// countTurns tells how many turns were granted before the end.
func countTurns(next func() *zk.Lock, end time.Time, hold time.Duration) (turns int64, err error) {
	for time.Now().Before(end) {
		lock := next()
		if err := lock.Lock(); err != nil {
			return turns, err
		}
		if granted := time.Now(); granted.Before(end) {
			turns++
			sleepUntil(granted.Add(hold))
		}
		if err := lock.Unlock(); err != nil {
			return turns, err
		}
	}
	return turns, nil
}

// sleepUntil sleeps, but for the last tenth of a millisecond, which is about what a sleep is late.
// That of the package time can be a whole millisecond late.
func sleepUntil(moment time.Time) {
	for {
		left := time.Until(moment)
		if left <= 0 {
			return
		}
		if left > 100*time.Microsecond {
			nap := syscall.NsecToTimespec(int64(left - 100*time.Microsecond))
			_ = syscall.Nanosleep(&nap, nil) // when it is interrupted we come round again
		}
	}
}

func (p *peer) contend(a []string) (string, error) {
	n, err := numbers(number, a[1], a[2])
	if err != nil {
		return "", err
	}
	lock := p.newLock(a[0])
	end := time.Now().Add(time.Duration(n[0]) * time.Millisecond)
	hold := time.Duration(n[1]) * time.Microsecond
	turns, err := countTurns(func() *zk.Lock { return lock }, end, hold)
	return fmt.Sprint("turns ", turns), err
}

func (p *peer) cycles(a []string) (string, error) {
	count, err := positive(a[1])
	if err != nil {
		return "", err
	}
	lock := p.newLock(a[0])
	var locks, cycles durations
	for i := int64(0); i < count; i++ {
		begin := time.Now()
		if err := lock.Lock(); err != nil {
			return "", err
		}
		granted := time.Now()
		if err := lock.Unlock(); err != nil {
			return "", err
		}
		locks = append(locks, granted.Sub(begin))
		cycles = append(cycles, time.Since(begin))
	}
	return fmt.Sprintf("cycles %.1f %.1f %.1f %.1f", locks.mean(), cycles.mean(), locks.median(),
		cycles.median()), nil
}

func (p *peer) reads(a []string) (string, error) {
	count, err := positive(a[0])
	if err != nil {
		return "", err
	}
	var times durations
	for i := int64(0); i < count; i++ {
		begin := time.Now()
		if _, _, err := p.conn.Exists("/"); err != nil {
			return "", err
		}
		times = append(times, time.Since(begin))
	}
	return fmt.Sprintf("reads %.1f", times.median()), nil
}

func (p *peer) many(a []string) (string, error) {
	n, err := numbers(positive, a[1], a[2], a[3])
	if err != nil {
		return "", err
	}
	// A Lock is only a path, and not for two goroutines: each turn has its own.
	next := int64(-1)
	return inGoroutines(n[1], n[2], func() func() *zk.Lock {
		return func() *zk.Lock {
			return p.newLock(fmt.Sprint(a[0], "/", atomic.AddInt64(&next, 1)%n[0]))
		}
	})
}

func (p *peer) local(a []string) (string, error) {
	n, err := numbers(positive, a[1], a[2])
	if err != nil {
		return "", err
	}
	return inGoroutines(n[0], n[1], func() func() *zk.Lock {
		lock := p.newLock(a[0])
		return func() *zk.Lock { return lock }
	})
}

// inGoroutines sums what each counts; the first failure of one is that of all.
func inGoroutines(count, milliseconds int64, makeNext func() func() *zk.Lock) (string, error) {
	var (
		all   sync.WaitGroup
		mutex sync.Mutex
		sum   int64
		first error
	)
	end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond)
	for i := int64(0); i < count; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			turns, err := countTurns(makeNext(), end, 0)
			mutex.Lock()
			defer mutex.Unlock()
			sum += turns
			if first == nil {
				first = err
			}
		}()
	}
	all.Wait()
	return fmt.Sprint("turns ", sum), first
}

// durations tell their figures in microseconds.
type durations []time.Duration

func (d durations) mean() float64 {
	var sum time.Duration
	for _, one := range d {
		sum += one
	}
	return float64(sum) / float64(len(d)) / 1000
}

func (d durations) median() float64 {
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	return float64(d[len(d)/2]) / 1000
}
