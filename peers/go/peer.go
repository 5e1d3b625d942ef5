// What the peers written in Go have in common: the protocol of README.md. Each is compiled
// together with this.
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
	"unsafe"
)

// A mutex is a lock of the library, used by one goroutine at a time.
type mutex interface {
	Lock() error
	Unlock() error
}

// A session is what locks belong to.
type session interface {
	newLock(path string) mutex
	get(path string) (string, error)
	set(path, value string) error
	exists() error // asks for something that may not be there, for the time that it takes

	// forGoroutine is what one of several goroutines uses that contend for one path.
	forGoroutine() (session, error)

	// lost tells how the library said that a lock is not held any longer, or may not be; empty as long as it has not.
	lost() string

	// granted begins to look for that.
	granted()

	// useless tells whether a lock cannot be used again behind that error of its Unlock.
	useless(err error) bool

	Close()
}

var errNotLocked = errors.New("not locked")

type peer struct {
	connect func() (session, error)
	session session
	others  []session        // more of them, for contend
	locks   map[string]mutex // those of the commands lock and unlock
}

type command struct {
	parameters string
	run        func(p *peer, a []string) (string, error)
}

var commands = map[string]command{
	"lock":    {"PATH", (*peer).lock},
	"try":     {"PATH MS", (*peer).try},
	"unlock":  {"PATH", (*peer).unlock},
	"work":    {"PATH FILE", (*peer).work},
	"turns":   {"PATH COUNT COUNTER", (*peer).turns},
	"contend": {"PATH MS HOLD_US [SESSIONS]", (*peer).contend},
	"cycles":  {"PATH COUNT", (*peer).cycles},
	"reads":   {"COUNT", (*peer).reads},
	"many":    {"PREFIX LOCKS INFLIGHT MS", (*peer).many},
	"local":   {"PATH THREADS MS", (*peer).local},
}

// run connects, serves, and never returns.
func run(name string, connect func(hosts string, timeout time.Duration) (session, error)) {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: "+name+" HOSTS SESSION_TIMEOUT_MS")
		os.Exit(2)
	}
	again := func() (session, error) {
		ms, err := positive(os.Args[2])
		if err != nil {
			return nil, err
		}
		return connect(os.Args[1], time.Duration(ms)*time.Millisecond)
	}
	first, err := again()
	if err != nil {
		say(describe(err))
		os.Exit(1)
	}
	p := &peer{connect: again, session: first, locks: map[string]mutex{}}
	p.serve(os.Stdin)
	for _, each := range append(p.others, first) {
		each.Close()
	}
	os.Exit(0)
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
	most := len(strings.Fields(c.parameters))
	least := most - strings.Count(c.parameters, "[")
	if len(arguments) < least || len(arguments) > most {
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

func (p *peer) lock(a []string) (string, error) {
	lock, known := p.locks[a[0]]
	if !known {
		lock = p.session.newLock(a[0])
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
		return "", errNotLocked
	}
	err := lock.Unlock()
	if err != nil && p.session.useless(err) {
		// It went with its session. The lock would take any further use for a deadlock.
		delete(p.locks, a[0])
	}
	return "unlocked", err
}

func (p *peer) work(a []string) (string, error) {
	file, err := os.OpenFile(a[1], os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return "", err
	}
	bytes, err := syscall.Mmap(int(file.Fd()), 0, int(about.Size()), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		return "", err
	}
	defer syscall.Munmap(bytes)
	if _, err := p.lock(a[:1]); err != nil {
		return "", err
	}
	p.session.granted()
	for at := 0; at < len(bytes); at += 8 {
		if how := p.session.lost(); how != "" {
			return "lost " + how, nil
		}
		*(*int64)(unsafe.Pointer(&bytes[at])) = monotonic()
		nap := syscall.NsecToTimespec(20_000)
		_ = syscall.Nanosleep(&nap, nil)
	}
	return "", errors.New("the file is full")
}

// monotonic is CLOCK_MONOTONIC, which the package time does not tell.
func monotonic() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func (p *peer) turns(a []string) (string, error) {
	count, err := number(a[1])
	if err != nil {
		return "", err
	}
	lock := p.session.newLock(a[0])
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
	text, err := p.session.get(counter)
	if err != nil {
		return err
	}
	value, err := number(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	return p.session.set(counter, strconv.FormatInt(value+1, 10))
}

// countTurns tells how many turns were granted before the end.
func countTurns(next func() mutex, end time.Time, hold time.Duration) (turns int64, err error) {
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
	n, err := numbers(number, a[1:]...)
	if err != nil {
		return "", err
	}
	sessions := int64(1)
	if len(n) == 3 {
		sessions = n[2]
	}
	for int64(len(p.others)) < sessions-1 {
		another, err := p.connect()
		if err != nil {
			return "", err
		}
		p.others = append(p.others, another)
	}
	var next []func() mutex
	for _, each := range append([]session{p.session}, p.others...)[:sessions] {
		next = append(next, always(each.newLock(a[0])))
	}
	return inGoroutines(next, n[0], time.Duration(n[1])*time.Microsecond)
}

func always(lock mutex) func() mutex {
	return func() mutex { return lock }
}

func (p *peer) cycles(a []string) (string, error) {
	count, err := positive(a[1])
	if err != nil {
		return "", err
	}
	lock := p.session.newLock(a[0])
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
		if err := p.session.exists(); err != nil {
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
	last := int64(-1)
	next := make([]func() mutex, n[1])
	for i := range next {
		// A lock is not for two goroutines: each turn has its own.
		next[i] = func() mutex {
			return p.session.newLock(fmt.Sprint(a[0], "/", atomic.AddInt64(&last, 1)%n[0]))
		}
	}
	return inGoroutines(next, n[2], 0)
}

func (p *peer) local(a []string) (string, error) {
	n, err := numbers(positive, a[1], a[2])
	if err != nil {
		return "", err
	}
	next := make([]func() mutex, n[0])
	for i := range next {
		own, err := p.session.forGoroutine()
		if err != nil {
			return "", err
		}
		if own != p.session {
			defer own.Close()
		}
		next[i] = always(own.newLock(a[0]))
	}
	return inGoroutines(next, n[1], 0)
}

// inGoroutines sums what each counts that tells which lock is next; the first failure of one is that
// of all.
func inGoroutines(each []func() mutex, milliseconds int64, hold time.Duration) (string, error) {
	var (
		all   sync.WaitGroup
		guard sync.Mutex
		sum   int64
		first error
	)
	end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond)
	for _, next := range each {
		all.Add(1)
		go func(next func() mutex) {
			defer all.Done()
			turns, err := countTurns(next, end, hold)
			guard.Lock()
			defer guard.Unlock()
			sum += turns
			if first == nil {
				first = err
			}
		}(next)
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
