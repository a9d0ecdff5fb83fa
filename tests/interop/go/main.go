// Asks golang.org/x/mod/sumdb, as Debian packages it, whether our notes, trees and tiles are what it takes them to be.
//
// Reads checks as a JSON array on stdin, answers each with a line: "ok" (for "sign" the note in base64), or why not.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type check struct {
	Kind    string
	VKey    string
	Note    []byte
	Leaf    []byte
	Index   int64
	Size    int64
	Root    []byte
	Old     int64
	OldRoot []byte
	Path    [][]byte
	Folder  string
	URL     string
	SKey    string
	Text    string
	Witness string
}

func hash(data []byte) (h tlog.Hash, err error) {
	if len(data) != tlog.HashSize {
		return h, errors.New("a hash is not 32 bytes")
	}
	copy(h[:], data)
	return h, nil
}

func hashes(list [][]byte) ([]tlog.Hash, error) {
	result := make([]tlog.Hash, len(list))
	for i, data := range list {
		h, err := hash(data)
		if err != nil {
			return nil, err
		}
		result[i] = h
	}
	return result, nil
}

// folder reads tiles of a C2SP tile log; x/mod's paths name the height, C2SP's do not.
type folder string

func (folder) Height() int { return 8 }

func (f folder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	result := make([][]byte, len(tiles))
	for i, tile := range tiles {
		path := "tile/" + strings.TrimPrefix(tile.Path(), "tile/8/")
		data, err := os.ReadFile(filepath.Join(string(f), path))
		if err != nil {
			return nil, err
		}
		result[i] = data
	}
	return result, nil
}

func (folder) SaveTiles([]tlog.Tile, [][]byte) {}

// site reads tiles of a C2SP tile log over HTTP.
type site string

func (site) Height() int { return 8 }

func (s site) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	result := make([][]byte, len(tiles))
	for i, tile := range tiles {
		answer, err := http.Get(string(s) + "/tile/" + strings.TrimPrefix(tile.Path(), "tile/8/"))
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 200 {
			return nil, fmt.Errorf("%s: %s %v", tile.Path(), answer.Status, err)
		}
		result[i] = data
	}
	return result, nil
}

func (site) SaveTiles([]tlog.Tile, [][]byte) {}

// prove has x/mod compute, from tiles, that a leaf is in the tree and that the tree continues an older one.
func prove(c check, tiles tlog.TileReader) error {
	root, err := hash(c.Root)
	if err != nil {
		return err
	}
	reader := tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: root}, tiles)
	path, err := tlog.ProveRecord(c.Size, c.Index, reader)
	if err != nil {
		return err
	}
	if err := tlog.CheckRecord(path, c.Size, root, c.Index, tlog.RecordHash(c.Leaf)); err != nil || c.Old == 0 {
		return err
	}
	old, err := hash(c.OldRoot)
	if err != nil {
		return err
	}
	growth, err := tlog.ProveTree(c.Size, c.Old, reader)
	if err != nil {
		return err
	}
	return tlog.CheckTree(growth, c.Size, root, c.Old, old)
}

// witness is a note.Verifier of a C2SP tlog-cosignature, which x/mod has none of.
type witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func newWitness(vkey string) (*witness, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return nil, errors.New("not a vkey")
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(key) != 33 || key[0] != 4 {
		return nil, errors.New("not the vkey of a witness")
	}
	id := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
	return &witness{parts[0], binary.BigEndian.Uint32(id[:4]), ed25519.PublicKey(key[1:])}, nil
}

func (w *witness) Name() string    { return w.name }
func (w *witness) KeyHash() uint32 { return w.hash }
func (w *witness) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	front := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(w.key, append([]byte(front), msg...), sig[8:])
}

// made is an answer that is not a refusal.
type made string

func (m made) Error() string { return string(m) }

func run(c check) error {
	switch c.Kind {
	case "note":
		verifier, err := note.NewVerifier(c.VKey)
		if err != nil {
			return err
		}
		known := []note.Verifier{verifier}
		if c.Witness != "" {
			cosigner, err := newWitness(c.Witness)
			if err != nil {
				return err
			}
			known = append(known, cosigner)
		}
		opened, err := note.Open(c.Note, note.VerifierList(known...))
		if err == nil && len(opened.Sigs) < len(known) {
			return errors.New("not signed by all")
		}
		return err
	case "sign":
		signer, err := note.NewSigner(c.SKey)
		if err != nil {
			return err
		}
		signed, err := note.Sign(&note.Note{Text: c.Text}, signer)
		if err != nil {
			return err
		}
		return made(base64.StdEncoding.EncodeToString(signed))
	case "record":
		root, err := hash(c.Root)
		if err != nil {
			return err
		}
		path, err := hashes(c.Path)
		if err != nil {
			return err
		}
		return tlog.CheckRecord(path, c.Size, root, c.Index, tlog.RecordHash(c.Leaf))
	case "tree":
		root, err := hash(c.Root)
		if err != nil {
			return err
		}
		old, err := hash(c.OldRoot)
		if err != nil {
			return err
		}
		path, err := hashes(c.Path)
		if err != nil {
			return err
		}
		return tlog.CheckTree(path, c.Size, root, c.Old, old)
	case "tiles":
		return prove(c, folder(c.Folder))
	case "site":
		return prove(c, site(c.URL))
	}
	return fmt.Errorf("unknown check %q", c.Kind)
}

func main() {
	var checks []check
	if err := json.NewDecoder(os.Stdin).Decode(&checks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, c := range checks {
		if err := run(c); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("ok")
		}
	}
}
