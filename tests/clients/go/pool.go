// The connection pool of Go's net/http at a rate limit: <url> <key>
//
// Whatever is refused, the next request on the connection is innocent. Go sends requests that failed again by itself where
// that is safe; a POST is not, so each failure is seen here.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Slow gives a body in two pieces, the second a moment later: it goes out behind the head.
func slow() io.Reader {
	read, write := io.Pipe()
	go func() {
		io.WriteString(write, `{"metadata": `)
		time.Sleep(time.Millisecond)
		io.WriteString(write, `{"note": "x"}}`)
		write.Close()
	}()
	return read
}

func send(method, url, key string, body io.Reader) int {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		panic(err)
	}
	return response.StatusCode
}

func main() {
	url, key := os.Args[1], os.Args[2]
	seen := map[int]int{}
	for round := range 100 {
		body := slow()
		if round%2 == 0 {
			body = strings.NewReader(`{"metadata": {"note": "x"}}`)
		}
		seen[send("POST", url+"/api/v1/conversations", key, body)]++
		if status := send("POST", url+"/api/v1/minds", "mh_wrong", slow()); status != 401 {
			panic(status)
		}
		if status := send("GET", url+"/healthz", key, nil); status != 200 {
			panic(status)
		}
	}
	if len(seen) != 2 || seen[200] == 0 || seen[429] == 0 {
		panic(fmt.Sprint(seen))
	}
	fmt.Println("ok")
}
