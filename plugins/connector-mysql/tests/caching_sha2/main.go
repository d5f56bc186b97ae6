// A server that speaks MySQL's protocol and its caching_sha2_password, for the tests: MariaDB has no such method, and
// no MySQL is in Debian. It answers every statement that is no query with OK, and every query with the statement's text.
//
// It prints its port, the PEM text of its RSA key and an empty line, and ends with its standard input.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/server"
)

// The library's own list of accounts skips the full exchange; any other has it as MySQL does.
type accounts map[string]string

func (list accounts) CheckUsername(name string) (bool, error) {
	_, found := list[name]
	return found, nil
}

func (list accounts) GetCredential(name string) (string, bool, error) {
	password, found := list[name]
	return password, found, nil
}

type handler struct{ server.EmptyHandler }

func (handler) HandleQuery(query string) (*mysql.Result, error) {
	if !strings.HasPrefix(query, "SELECT") {
		return nil, nil
	}
	rows, err := mysql.BuildSimpleTextResultset([]string{"said"}, [][]any{{query}})
	if err != nil {
		return nil, err
	}
	return &mysql.Result{Resultset: rows}, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	private := must(rsa.GenerateKey(rand.Reader, 2048))
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(&private.PublicKey))})
	config := &tls.Config{Certificates: []tls.Certificate{certify(private)}}
	double := server.NewServer("8.0.36-double", mysql.DEFAULT_COLLATION_ID, mysql.AUTH_CACHING_SHA2_PASSWORD, public, config)
	known := accounts{"sha2_user": "hunter2 sha2", "empty_user": ""}

	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("%d\n%s\n", listener.Addr().(*net.TCPAddr).Port, public)
	go func() {
		for {
			socket := must(listener.Accept())
			go serve(double, known, socket)
		}
	}()
	io.Copy(io.Discard, os.Stdin)
}

// certify issues the server's own certificate, which is also the key that passwords are encrypted for.
func certify(private *rsa.PrivateKey) tls.Certificate {
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(48 * time.Hour),
		DNSNames:     []string{"localhost"},
	}
	der := must(x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

func serve(double *server.Server, known accounts, socket net.Conn) {
	defer socket.Close()
	connection, err := server.NewCustomizedConn(socket, double, known, handler{})
	for err == nil && !connection.Closed() {
		err = connection.HandleCommand()
	}
}
