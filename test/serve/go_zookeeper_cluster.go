// In the place of go-zookeeper's cluster of Java servers, for its own tests: `colock serve`, a new one for each test.
package zk

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

type logWriter struct {
	t *testing.T
	p string
}

func (logWriter) Write(bytes []byte) (int, error) { return len(bytes), nil }

type TestServer struct {
	Port int
}

type TestCluster struct {
	Servers []TestServer
	process *exec.Cmd
}

func StartTestCluster(size int, stdout, stderr io.Writer) (*TestCluster, error) {
	process := exec.Command(os.Getenv("COLOCK"), "serve", "--port", "0", "--quiet")
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also when a test runs out of time
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(strings.TrimSpace(address[strings.LastIndex(address, ":")+1:]))
	return &TestCluster{[]TestServer{{port}}, process}, err
}

func (tc *TestCluster) ConnectAll() (*Conn, <-chan Event, error) {
	return tc.ConnectWithOptions(15 * time.Second)
}

func (tc *TestCluster) ConnectWithOptions(sessionTimeout time.Duration, options ...connOption) (*Conn, <-chan Event, error) {
	return Connect([]string{fmt.Sprintf("127.0.0.1:%d", tc.Servers[0].Port)}, sessionTimeout, options...)
}

func (tc *TestCluster) Stop() error {
	tc.process.Process.Kill()
	tc.process.Wait()
	return nil
}

// The test that needs these is left out.
func (tc *TestCluster) StartAllServers() error { return nil }
func (tc *TestCluster) StopAllServers() error  { return nil }
